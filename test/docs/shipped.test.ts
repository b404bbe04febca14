import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, it } from 'vitest'
import { templates } from '../../cli/init/templates.ts'

const root = new URL('../..', import.meta.url).pathname
const text = (file: string) => readFileSync(join(root, file), 'utf8')
const { files } = JSON.parse(text('package.json')) as { files: string[] }
const shipped = new Set([
  'README.md',
  'LICENSE',
  'package.json',
  ...files.flatMap((pattern) => globSync(pattern, { cwd: root })),
])
const pages = [...shipped].filter((file) => file.endsWith('.md'))
const isForContributors = (page: string) =>
  text(page).includes('_For contributors:') || page === 'CONTRIBUTING.md' || page === 'CHANGELOG.md'

it.each(pages)('no link of %s leads to a file that the package does not have', (page) => {
  const links = [...text(page).matchAll(/\]\((?!https?:)([^)#\s]+)/g)].map(([, file]) =>
    normalize(join(dirname(page), file!)),
  )
  expect(links.filter((file) => !shipped.has(file))).toEqual([])
})

it.each(pages.filter((page) => !isForContributors(page)))(
  '%s names no command that only the repository has',
  (page) => {
    const [forUsers] = text(page).split('\n## In this repository\n')
    const scripts = Object.keys((JSON.parse(templates('x', {})['package.json']!) as { scripts: object }).scripts)
    const named = [...forUsers!.matchAll(/npm run (?:-s )?([\w:-]+)/g)].map(([, script]) => script!)
    // The first line of README is for those who look at the repository.
    expect(named.filter((script) => !scripts.includes(script) && script !== 'demo')).toEqual([])
  },
)
