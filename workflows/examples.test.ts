import { afterAll, beforeAll, describe } from 'vitest'
import { localStage } from './stages/local.ts'
import { testKitStage } from './stages/test-kit.ts'
import { describeExamples } from './suite/index.ts'
import type { Stage } from './suite/stage.ts'

/** The deployed stack is the third: test/e2e/examples.test.ts. */
describe.each([
  { name: 'the test kit', open: testKitStage },
  { name: 'the local world', open: localStage },
])('on $name', ({ open }) => {
  let stage: Stage & Partial<AsyncDisposable>
  beforeAll(async () => {
    stage = await open()
  })
  afterAll(() => stage[Symbol.asyncDispose]?.())
  describeExamples(() => stage)
})
