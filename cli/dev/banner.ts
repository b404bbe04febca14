import { extname, relative } from 'node:path'
import { USUAL_URL } from '../connection.ts'
import { paint } from '../terminal.ts'
import type { ServerMessage } from './messages.ts'

type Ready = Extract<ServerMessage, { kind: 'ready' }>

/** The server's address, and the next command to try. */
export function banner({ url, database, workflows, newToken }: Ready): string {
  const names = workflows.map(({ name }) => name).join(', ') || 'stored definitions'
  const first = firstToTry(workflows)
  return `
  ${paint('bold', 'Overwinter')} runs ${names}
  on ${paint('cyan', url)}, and keeps its runs in ${shortPath(database)}. Ctrl-C stops it; sleeping runs survive that, and any crash.

  ${first ? 'Start a run' : 'Save a definition, to be started by its name'}:

    ${paint('bold', first ? curlFor(url, first) : `${overwinterCommand()} definitions put <file>${where(url)}`)}

  Look at it: ${paint('cyan', `${url}/ui/`)}, or from another terminal: ${overwinterCommand()} runs --watch${where(url)}
${newToken === undefined ? '' : tokenNote(url, newToken)}`
}

function tokenNote(url: string, token: string): string {
  return `
  Workers in any language do what \`ctx.task\` dispatches. A token for them, shown this once:

    ${paint('bold', token)}

  Start one: OVERWINTER_URL=${url} OVERWINTER_WORKER_TOKEN=… python3 worker.py. Another token: ${overwinterCommand()} tokens create <name>${where(url)}
`
}

/** The workflow from the README, if there is one. */
function firstToTry(workflows: Ready['workflows']): Ready['workflows'][number] | undefined {
  return workflows.find(({ name }) => name === 'nap') ?? workflows[0]
}

function curlFor(url: string, { name, example }: Ready['workflows'][number]): string {
  const body = JSON.stringify({ input: example })
  return (
    `curl -X POST ${url}/workflows/${encodeURIComponent(name)}/runs -H 'content-type: application/json' ` +
    `-d ${shellQuoted(body)}`
  )
}

const shellQuoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/** Another terminal does not have this one's PORT. */
const where = (url: string): string => (url === USUAL_URL ? '' : ` --url ${url}`)

/** The CLI's command: from the sources in this repository, from the package elsewhere. */
export function overwinterCommand(): string {
  return extname(import.meta.filename) === '.ts' ? 'npm run -s overwinter --' : 'npx overwinter'
}

export function shortPath(file: string): string {
  const path = relative(process.cwd(), file)
  return path.startsWith('..') ? file : path
}
