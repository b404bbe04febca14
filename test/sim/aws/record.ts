import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { CreateTableCommand, DeleteTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { createTableInput } from '../../../sdk/worlds/aws/table.ts'
import { CASES } from './cases/index.ts'
import { type Answer, play } from './cases/play.ts'

/**
 * Records what DynamoDB itself answers to the cases, for expressions.test.ts to compare with:
 *
 *   node --conditions=overwinter-source test/sim/aws/record.ts http://localhost:8000
 *
 * DynamoDB Local is the oracle (Maven: com.amazonaws:DynamoDBLocal:2.6.1 with its dependencies in lib/, Java 17):
 *
 *   java -Djava.library.path=lib -cp 'lib/*' com.amazonaws.services.dynamodbv2.local.main.ServerRunner -inMemory -port 8000
 *
 * AWS itself could be asked the same way. Cases where the two are known to differ say so, in `differs`.
 */
const { positionals } = parseArgs({ allowPositionals: true })
const [endpoint] = positionals
if (!endpoint) throw new Error('say which endpoint is to be asked, as in: record.ts http://localhost:8000')

const TABLE = 'recording'
const client = new DynamoDBClient({
  endpoint,
  region: 'us-east-1',
  credentials: { accessKeyId: 'recording', secretAccessKey: 'recording' },
})
await client.send(new DeleteTableCommand({ TableName: TABLE })).catch(() => {})
await client.send(new CreateTableCommand(createTableInput(TABLE)))
for (const [file, cases] of Object.entries(CASES)) {
  const answers: Record<string, Answer> = {}
  for (const one of cases) {
    if (one.name in answers) throw new Error(`two cases are called '${one.name}'`)
    answers[one.name] = await play(client, TABLE, one)
  }
  // A line a case: so a diff shows which answers have changed.
  const lines = Object.entries(answers).map(([name, answer]) => `${JSON.stringify(name)}: ${JSON.stringify(answer)}`)
  writeFileSync(new URL(`./recorded/${file}.json`, import.meta.url), `{\n${lines.join(',\n')}\n}\n`)
  console.log(`${file}: ${cases.length} cases`)
}
client.destroy()
