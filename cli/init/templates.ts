import { OLDEST_NODE } from '../../sdk/base/node-version.ts'
import { agents, llms } from './for-agents.ts'

/** The files of a new project, by name. Each is short, and like a file that a person would write. */
export function templates(name: string, versions: Record<string, string>, alarms?: string): Record<string, string> {
  return {
    'package.json': packageJson(name, versions),
    'tsconfig.json': TSCONFIG,
    '.gitignore': 'node_modules/\n.overwinter/\ncdk.out/\n',
    'cdk.json': `${JSON.stringify({ app: 'node infra/app.ts', ...(alarms !== undefined && { context: { alarms } }) }, null, 2)}\n`,
    'README.md': readme(name),
    'AGENTS.md': agents(name),
    'llms.txt': llms(name),
    'workflows/index.ts': INDEX,
    'workflows/sign-up.ts': SIGN_UP,
    'workflows/sign-up.test.ts': SIGN_UP_TEST,
    'infra/app.ts': app(name),
  }
}

function packageJson(name: string, versions: Record<string, string>): string {
  const pick = (...names: string[]) => Object.fromEntries(names.map((each) => [each, versions[each]]))
  const content = {
    name,
    private: true,
    type: 'module',
    engines: { node: `>=${OLDEST_NODE}` },
    scripts: {
      dev: 'overwinter dev',
      pretest: 'overwinter check-node',
      test: 'node --test "workflows/**/*.test.ts"',
      check: 'tsc',
      presynth: 'overwinter check-node',
      synth: 'cdk synth --quiet',
      predeploy: 'overwinter check-node',
      deploy: 'cdk deploy',
    },
    dependencies: { ...pick('overwinter', 'zod') },
    devDependencies: { ...pick('@types/node', 'aws-cdk', 'aws-cdk-lib', 'constructs', 'esbuild', 'typescript') },
    allowScripts: { esbuild: true },
  }
  return `${JSON.stringify(content, null, 2)}\n`
}

const TSCONFIG = `{
  "compilerOptions": {
    "target": "es2024",
    "lib": ["es2024", "esnext.disposable"],
    "types": ["node"],
    "module": "nodenext",
    "strict": true,
    "erasableSyntaxOnly": true,
    "verbatimModuleSyntax": true,
    "allowImportingTsExtensions": true,
    "skipLibCheck": true,
    "noEmit": true
  },
  "include": ["workflows", "infra"]
}
`

const INDEX = `/** What runs here and on AWS: every workflow and schedule that this file exports. */
export { signUp } from './sign-up.ts'
`

const SIGN_UP = `import { signal, workflow } from 'overwinter'
import * as z from 'zod'

const Person = z.object({ name: z.string() })
export const confirmed = signal('confirmed', z.object({ plan: z.string() }))

/** A person signs up, has three days to confirm, and is asked a day later how they like it. */
export const signUp = workflow('sign-up', { input: Person, signals: [confirmed] }, async (ctx, { name }) => {
  // A step runs once. After a crash or a failure it runs again, with the same idempotency key.
  await ctx.step('send-mail', ({ idempotencyKey }) => sendMail(\`Dear \${name}, please confirm\`, idempotencyKey))

  // The run uses no compute while it waits.
  const answer = await ctx.waitFor(confirmed, { timeout: '3d' })
  if (!answer) return { status: 'expired' }

  await ctx.sleep('settle in', '1d')
  const question = \`Dear \${name}, do you like \${answer.plan}?\`
  await ctx.step('ask', ({ idempotencyKey }) => sendMail(question, idempotencyKey))
  return { status: 'confirmed', plan: answer.plan }
})

async function sendMail(text: string, idempotencyKey: string): Promise<void> {
  console.log(\`mail \${idempotencyKey}: \${text}\`)
}
`

const SIGN_UP_TEST = `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testEnv } from 'overwinter/testing'
import { confirmed, signUp } from './sign-up.ts'

test('a person who confirms is asked a day later', async () => {
  const env = await testEnv({ workflows: [signUp] })
  const mails: string[] = []
  env.stub('send-mail', () => void mails.push('confirm'))
  env.stub('ask', () => void mails.push('ask'))

  const run = await env.start(signUp, { name: 'Ada' })
  assert.equal(await run.status(), 'waiting')
  await run.signal(confirmed, { plan: 'pro' })
  await env.restart() // The process dies; only the store survives.
  assert.deepEqual(await run.result(), { status: 'confirmed', plan: 'pro' })
  assert.deepEqual(mails, ['confirm', 'ask'])
})

test('after three days without an answer it is over', async () => {
  const env = await testEnv({ workflows: [signUp] })
  env.stub('send-mail', () => {})
  const run = await env.start(signUp, { name: 'Ada' })
  await env.advance('3d')
  assert.deepEqual(await run.result(), { status: 'expired' })
})
`

const app = (name: string) => `import { App, CfnOutput, Stack } from 'aws-cdk-lib'
import { Overwinter } from 'overwinter/cdk'

const app = new App()
const stack = new Stack(app, '${stackName(name)}')
const { api } = new Overwinter(stack, 'Workflows', {
  entry: 'workflows/index.ts',
  // The most runs at a time. A new AWS account may run ten functions in all: raise this with its quota.
  maxConcurrency: 5,
  // A mail address or the ARN of an SNS topic, from cdk.json: "context": { "alarms": "ops@example.com" }
  alarmsTo: app.node.tryGetContext('alarms'),
})
new CfnOutput(stack, 'ApiUrl', { value: api.apiEndpoint })
`

/** A stack's name has letters, digits and hyphens, a letter first. */
function stackName(name: string): string {
  const words = name.split(/[^A-Za-z0-9]+/).filter(Boolean)
  const joined = words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('')
  return /^[A-Z]/.test(joined) ? joined : `Stack${joined}`
}

const readme = (name: string) => `# ${name}

Durable workflows with Overwinter.

| | |
|---|---|
| \`npm test\` | runs the tests, under virtual time |
| \`npm run dev\` | runs the workflows on this machine, on http://localhost:4400 |
| \`npx overwinter runs --watch\` | shows the runs |
| \`npx overwinter tail\` | tells what happens in all of them |
| \`npm run deploy\` | puts everything into your AWS account, and prints the address of its API |
| \`npx overwinter runs --url <address>\` | shows the runs there |

AGENTS.md has the rules of workflow code, for coding agents and for people.
`
