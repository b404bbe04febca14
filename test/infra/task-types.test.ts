import { App, Stack } from 'aws-cdk-lib'
import { describe, expect, it } from 'vitest'
import type { OverwinterProps } from '../../infra/options.ts'
import { checkTaskTypes } from '../../infra/task-types.ts'
import { Project } from '../cli/fixture.ts'
import { build } from './synth.ts'

const WORKFLOWS = `
  import { workflow } from 'overwinter'
  import { dag } from 'overwinter/definitions'
  console.log('loaded with', process.env.STAGE)
  if (process.env.STAGE !== 'test') throw new Error('what the functions have in their environment is missing')
  setInterval(() => {}, 1_000)
  export const summary = workflow('summary', { tasks: ['llm'] }, async (ctx) => ctx.task('llm'))
  export const picture = dag('picture').worker('draw', 'gpu').build()
  export const free = workflow('free', async (ctx) => ctx.task('anything'))
`

const infosOf = (stack: Stack): unknown[] =>
  stack.node.metadata.filter(({ type }) => type === 'aws:cdk:info').map(({ data }) => data as unknown)

/** As the construct does it, which goes on to bundle for seconds. */
function check(entry: string, props: Partial<OverwinterProps> = {}) {
  const stack = new Stack(new App())
  checkTaskTypes(stack, { entry, environment: { STAGE: 'test' }, ...props })
  return infosOf(stack)
}

describe('tasks that workflows declare', () => {
  it('have a queue, or the stack is refused with what to add', () => {
    using project = new Project({ 'entry.ts': WORKFLOWS })
    const props = { entry: project.path('entry.ts'), environment: { STAGE: 'test' }, taskTypes: ['mail', 'llm'] }
    expect(() => build(() => props, {})).toThrow(
      `there is no queue for tasks that workflows hand out: 'gpu' (workflow 'picture'). Add them to the construct: taskTypes: ["mail","llm","gpu"]`,
    )
    expect(() => check(project.path('entry.ts'))).toThrow(`'gpu' (workflow 'picture'), 'llm' (workflow 'summary')`)
    expect(check(project.path('entry.ts'), { taskTypes: ['llm', 'gpu'] })).toEqual([])
  })

  it('are not compared where only bundling makes the entry a program, and that is said', () => {
    using project = new Project({ 'entry.ts': `import mail from './mail.txt'\n${WORKFLOWS}` })
    const [info] = check(project.path('entry.ts'))
    expect(info).toMatch(
      /Node could not load .*entry\.ts as it is \(.*\), so the tasks that its workflows declare were not compared with taskTypes/,
    )
  })

  it('are not looked for where nothing is bundled', () => {
    const { stack } = build()
    expect(() => checkTaskTypes(stack, { entry: 'nowhere.ts' })).not.toThrow()
    expect(infosOf(stack)).toEqual([])
  })
})
