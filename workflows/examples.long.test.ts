import { afterAll, beforeAll, describe } from 'vitest'
import { localStage } from './stages/local.ts'
import { describeExamples } from './suite/index.ts'

describe('on the local world', () => {
  let stage: Awaited<ReturnType<typeof localStage>>
  beforeAll(async () => {
    stage = await localStage()
  })
  afterAll(() => stage[Symbol.asyncDispose]())
  describeExamples(() => stage)
})
