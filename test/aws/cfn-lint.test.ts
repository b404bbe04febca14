import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { OPTION_SETS } from '../infra/option-sets.ts'
import { synthesise } from '../infra/synth.ts'
import { installed } from './python-tool.ts'

/** CDK itself has every function depend on its role twice, which does no harm. */
const LEFT_ALONE = 'W3005'

describe("cfn-lint, which knows CloudFormation's own schemas", () => {
  const folder = mkdtempSync(join(tmpdir(), 'overwinter-lint-'))
  const broken = { Resources: { Runner: { Type: 'AWS::SQS::Queue', Properties: { VisibilityTimeout: 99_999 } } } }
  let findings: string[]
  // Together: it takes longer to read those schemas than to hold a template against them.
  beforeAll(() => {
    const templates = [...Object.values(OPTION_SETS).map((props) => synthesise(props).template.toJSON()), broken]
    const files = templates.map((template, i) => {
      const file = join(folder, `${i}.json`)
      writeFileSync(file, JSON.stringify(template, null, 2))
      return file
    })
    const command = join(installed('cfn-lint', '1.58.0', ''), 'bin/cfn-lint')
    const { stdout, stderr } = spawnSync(
      command,
      ['--ignore-checks', LEFT_ALONE, '--format', 'parseable', '--', ...files],
      { encoding: 'utf8' },
    )
    expect(stderr).toBe('')
    findings = files.map((file) =>
      stdout
        .split('\n')
        .filter((line) => line.startsWith(`${file}:`))
        .join('\n'),
    )
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  it.each(Object.keys(OPTION_SETS).map((name, i) => [name, i] as const))(
    'has nothing to say of the template: %s',
    (_, i) => {
      expect(findings[i]).toBe('')
    },
  )

  it('would say so if there were something', () => {
    expect(findings.at(-1)).toMatch(/E3034.*99999/)
  })
})
