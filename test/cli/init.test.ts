import { expect, test } from 'vitest'
import { templates } from '../../cli/init/templates.ts'
import { overwinter, Project } from './fixture.ts'

const files = templates('my-flows', {})

test('every command that AGENTS.md and README of a new project name is there', async () => {
  const { scripts } = JSON.parse(files['package.json']!) as { scripts: Record<string, string> }
  const { stdout: help } = await overwinter(['--help'])
  const known = [...help.matchAll(/^ {2}([a-z]+)/gm)].map(([, command]) => command)
  for (const page of ['AGENTS.md', 'README.md']) {
    const text = files[page]!
    const named = [...text.matchAll(/npm (?:run )?(\w+)/g)].map(([, script]) => script!)
    expect(named.length).toBeGreaterThan(2)
    expect(named.filter((script) => !(script in scripts))).toEqual([])
    const commands = [...text.matchAll(/npx overwinter (\w+)/g)].map(([, command]) => command!)
    expect(commands.length).toBeGreaterThan(1)
    expect(commands.filter((command) => !known.includes(command))).toEqual([])
  }
})

test('what AGENTS.md says is there, is: files, and what ctx has', () => {
  const text = files['AGENTS.md']!
  for (const file of ['workflows/index.ts', 'infra/app.ts', 'llms.txt']) {
    expect(text).toContain(file)
    expect(files).toHaveProperty([file])
  }
})

test('init does not touch a folder that has something in it', async () => {
  using project = new Project({ 'notes.txt': 'mine' })
  const refused = await overwinter(['init', project.folder])
  expect(refused).toMatchObject({ code: 1, stderr: `${project.folder} is not empty; choose another folder\n` })
})

test('a new project has a ceiling on runs at a time that a new account can bear, and tells who was named of alarms', async () => {
  expect(files['infra/app.ts']).toMatch(/^ {2}maxConcurrency: 5,$/m)
  expect(files['infra/app.ts']).toContain("alarmsTo: app.node.tryGetContext('alarms')")
  expect(JSON.parse(files['cdk.json']!)).not.toHaveProperty('context')
  expect(JSON.parse(templates('my-flows', {}, 'ops@example.com')['cdk.json']!)).toMatchObject({
    context: { alarms: 'ops@example.com' },
  })
  const refused = await overwinter(['init', '/nowhere/at/all', '--alarms', 'ops'])
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining("--alarms is 'ops', and must be a mail address"),
  ])
})
