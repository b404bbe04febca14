/** What coding agents should know of a project with workflows. People may read it too. */
export const agents = (name: string) => `# ${name}: rules for coding agents

This project has durable workflows, made with Overwinter. A workflow is an async function whose steps are journaled.
After every wait, crash or deployment it runs **again from its first line**, and gets the journaled results instead of
running the steps once more. Most of the rules below follow from that.

## Where things are

- \`workflows/\`: one workflow a file, its test beside it. \`workflows/index.ts\` exports every workflow and schedule;
  a workflow that is not exported there does not run.
- \`infra/app.ts\`: the CDK app. Tables, secrets and permissions of steps belong there.
- \`node_modules/overwinter/docs/\`: the guides; \`reference.md\` lists everything that is exported. \`llms.txt\` says
  which guide covers what.

## Commands

| | |
|---|---|
| \`npm test\` | the tests, under virtual time: a sleep of a year takes no time |
| \`npm run check\` | types |
| \`npm run dev\` | runs the workflows on this machine, with an HTTP API on http://localhost:4400 |
| \`npx overwinter start <workflow> --input '<json>' --wait\` | starts a run and prints its output |
| \`npx overwinter runs\`, \`npx overwinter show <run>\` | lists runs; shows a run's history, and what it waits for |
| \`npm run synth\` | builds what would be deployed, without an AWS account |

Run \`npm run check\` and \`npm test\` after every change. Do not run \`npm run deploy\` unless you were asked to.

## Rules of workflow code

1. **Effects go into steps.** Requests, queries, files, mails:
   \`await ctx.step('name', async ({ idempotencyKey }) => …)\`.
   Pass the key to services that deduplicate: a step may run again.
2. **Outside of steps, await only \`ctx\`.** A \`fetch\`, a \`setTimeout\` or a query between two steps parks the run as stuck.
3. **Time and chance come from \`ctx\`.** \`ctx.now()\`, \`ctx.random()\`, \`ctx.uuid()\`; never \`Date.now()\`,
   \`new Date()\`, \`Math.random()\` or \`crypto.randomUUID()\` outside of a step.
4. **\`ctx\` does not work inside a step's body.** One step is one thing that happened.
5. **What a step returns is stored.** Plain data, dates, maps, sets and bytes; no functions, no instances of your own
   classes. Keep it small: ids instead of whole responses.
6. **No state outside.** Module variables are lost on a restart, and shared by all runs. A run keeps its state in its
   input and in the results of its steps.
7. **Wait with \`ctx.sleep('name', '3d')\`, \`ctx.waitFor(signal, { timeout })\` or \`ctx.callback(name)\`.** A waiting run
   uses no compute. To ask a run and get a reply, use \`request\` and \`client.ask\`. Do not poll in a loop with short
   sleeps if a signal can be sent instead.
8. **Side by side is \`Promise.all\` of \`ctx\` operations, or \`ctx.map\` for a list**, which gives every item names of
   its own.
9. **Errors:** a step is retried unless it throws a \`FatalError\`. \`RetryableError(message, { after: '30s' })\` says
   when to retry. Undo with \`ctx.compensate(name, undo)\`.

## Changing a workflow that has runs

Sleeping runs continue with the new code. Renaming, removing or reordering steps and waits does not fit their journals,
and parks them. Add at the end, or guard with \`if (ctx.patched('what-changed'))\`, or write a new version:
\`workflow(name, { version: 2 }, …)\`, with the old one still exported. The body of a step may always change.

## Mistakes to avoid

- \`const now = new Date()\` in a workflow: another time on every replay. Write \`new Date(ctx.now())\`.
- \`await fetch(…)\` between steps. Put it into \`ctx.step\`.
- \`ctx.sleep\` inside a step. Sleep between steps; a long step has \`checkpoint\` and \`pause\`.
- \`try { await ctx.step(…) } catch {}\` around everything: it swallows cancellation too. Catch what you expect, and
  rethrow the rest.
- A new signal without adding it to the workflow's \`signals\`, where those are declared.
- Tests that wait: \`await env.advance('3d')\` instead. \`env.stub('step name', body)\` replaces a step;
  \`await env.restart()\` kills the process, to see that the run continues.
`

const GUIDES: Record<string, string> = {
  'writing-workflows': 'the rules, names, types, what to put into a step',
  waiting: 'sleeps, signals, callbacks, people who answer',
  'errors-and-retries': 'retries, timeouts, compensation, what is parked and why',
  testing: 'virtual time, stubs, restarts, recorded histories',
  versioning: 'changing code while runs are in progress',
  schedules: 'runs that start at certain times',
  events: 'runs started and signalled by queues, buckets and event buses',
  workers: 'tasks for external workers, in any language',
  deploying: 'the CDK construct, its options, who may call the API',
  'steps-on-aws': 'tables, secrets and permissions of steps',
  operate: 'the command line, alarms, limits, stuck runs',
  reference: 'everything that is exported, with its types',
}

/** In the form of https://llmstxt.org: a short file that links to the rest. */
export const llms = (name: string) => `# ${name}

> Durable workflows with Overwinter: async TypeScript functions whose steps are journaled, so that they survive crashes,
> restarts and deployments. Locally they live in a SQLite file, on AWS in Lambda, DynamoDB, SQS and EventBridge Scheduler.

## This project

- [AGENTS.md](AGENTS.md): the rules of workflow code, the commands, the mistakes to avoid
- [workflows/index.ts](workflows/index.ts): every workflow and schedule that runs
- [workflows/sign-up.ts](workflows/sign-up.ts): a workflow with steps, a signal and a sleep
- [workflows/sign-up.test.ts](workflows/sign-up.test.ts): its test, under virtual time
- [infra/app.ts](infra/app.ts): what is deployed

## Overwinter

${Object.entries(GUIDES)
  .map(([page, what]) => `- [${page}](node_modules/overwinter/docs/${page}.md): ${what}`)
  .join('\n')}
`
