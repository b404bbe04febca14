import { beforeAll, describe } from 'vitest'
import { testKitStage } from './stages/test-kit.ts'
import { describeExamples } from './suite/index.ts'
import type { Stage } from './suite/stage.ts'

/**
 * Real time takes longer: examples.long.test.ts runs on the local world, test/e2e/examples.test.ts on the
 * deployed stack.
 */
describe('on the test kit', () => {
  let stage: Stage
  beforeAll(async () => {
    stage = await testKitStage()
  })
  describeExamples(() => stage)
})
