import { dag } from 'overwinter/definitions'

/** An order as a graph of tasks: each begins when its predecessors have completed, and gets their results. */
export const orderGraph = dag<{ cents: number }>('order-graph')
  .task('validate', ({ input }) => ({ valid: input.cents > 0 }))
  .task('charge', ({ parents }) => ({ charged: parents.validate.valid }), { after: 'validate' })
  .task('ship', ({ parents }) => ({ shipped: parents.charge.charged }), { after: 'charge' })
  .build()
