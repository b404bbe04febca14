/** What this repository deploys: `infra/app.ts` gives this file to the construct. */
export { fanOut } from './fan-out.ts'
export { flaky } from './flaky.ts'
export { nap } from './nap.ts'
export { order } from './order.ts'
export { child, parent } from './parent.ts'
