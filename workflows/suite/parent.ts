import { describe, expect, test } from 'vitest'
import { parent } from '../parent.ts'
import { Performance, type Stage } from './stage.ts'

export const describeParent = (on: () => Stage) =>
  describe('parent', () => {
    test('it waits for its children, each a run of its own', async () => {
      const run = await Performance.start(on(), parent, { cities: ['Oslo', 'Umeå', 'Tromsø'] })
      const { waitingFor } = await run.reaches('waiting')
      expect(waitingFor!.map(({ kind }) => kind)).toEqual(['child', 'child', 'child'])
      expect(await run.output()).toEqual({ letters: 14 })
      const children = (await run.history()).flatMap((event) => (event.type === 'child.started' ? [event.run] : []))
      const { runId } = run
      for (const child of children)
        expect(await on().client.get(child)).toMatchObject({
          workflow: 'child',
          status: 'completed',
          parent: { runId },
        })
    })
  })
