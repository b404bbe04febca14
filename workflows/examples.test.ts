import { beforeAll, describe } from 'vitest'
import { testKitStage } from './stages/test-kit.ts'
import { describeExamples } from './suite/index.ts'
import type { Stage } from './suite/stage.ts'

/** In real time it takes a while: on the local world in examples.long.test.ts, on the deployed stack in test/e2e/examples.test.ts. */
describe('on the test kit', () => {
  let stage: Stage
  beforeAll(async () => {
    stage = await testKitStage()
  })
  describeExamples(() => stage)
})
