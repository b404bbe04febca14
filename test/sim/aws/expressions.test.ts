import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { SeededRandom } from '../../../sdk/base/random.ts'
import { VirtualClock } from '../../../sdk/testing/virtual-clock.ts'
import { createTableInput, TABLE } from '../../../sdk/worlds/aws/table.ts'
import { CASES } from './cases/index.ts'
import { type Answer, play } from './cases/play.ts'
import { Chance } from './chance.ts'
import { dynamoDbClient } from './clients.ts'
import { DynamoDb } from './dynamodb/service.ts'
import { Network } from './network.ts'

/** DynamoDB's own answers, recorded by record.ts. */
const recorded = (file: string): Record<string, Answer> =>
  JSON.parse(readFileSync(new URL(`./recorded/${file}.json`, import.meta.url), 'utf8'))

const clock = new VirtualClock(0)
const chance = new Chance(new SeededRandom('expressions'))
const dynamodb = new DynamoDb(clock, chance)
dynamodb.createTable(createTableInput('recording'), { timeToLive: TABLE.timeToLive })
const client = dynamoDbClient(dynamodb, new Network('test', clock, chance))

describe.each(Object.entries(CASES))('as DynamoDB answers, %s:', (file, cases) => {
  const answers = recorded(file)
  it.each(cases.map((one) => [one.name, one] as const))('%s', async (name, one) => {
    const expected = answers[name]
    if (!expected) throw new Error(`'${name}' is not recorded; run test/sim/aws/record.ts against DynamoDB Local`)
    const answer = await play(client, 'recording', one)
    const { why: _, ...ofAws } = one.differs ?? { why: '' }
    if (one.differs) expect(answer).toMatchObject(ofAws)
    else if (file === 'random' && expected.error)
      expect(answer).toMatchObject({ error: { ...expected.error, message: expect.anything() } })
    else expect(answer).toEqual(expected)
  })
})
