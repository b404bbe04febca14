import { existsSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { mappingsOf } from '../../functions/mappings-of.ts'
import { handlersOf, isSchedule, isWorkflow, localFunctionsOf } from '../../functions/registry-of.ts'
import { type Codec, codecOf } from '../../sdk/codec/codec.ts'
import type { NamedHandler } from '../../sdk/definitions/define.ts'
import type { EventMapping } from '../../sdk/events/mapping.ts'
import type { AnyWorkflow, LocalFunction, Schedule } from '../../sdk/index.ts'

/** An error that no change of the code can fix: a wrong path, a port that is taken. */
export class FinalError extends Error {}

export interface Entry {
  workflows: AnyWorkflow[]
  schedules: Schedule[]
  handlers: NamedHandler[]
  mappings: EventMapping[]
  functions: LocalFunction[]
}

/** The exports of a file, in their order. `onLoad` is called for every loaded file, packages excluded. */
export async function loadEntry(file: string, onLoad: (file: string) => void): Promise<Entry> {
  if (!existsSync(file)) {
    throw new FinalError(`there is no file ${file}; name the one that exports your workflows: overwinter dev <file>`)
  }
  const exports = await load(file, onLoad)
  const values = [...new Set(Object.values(exports))]
  const workflows = values.filter(isWorkflow)
  const handlers = handlersOf(exports)
  if (workflows.length + handlers.length + values.filter(isSchedule).length === 0)
    throw new Error(`${file} exports no workflow; export what \`workflow(…)\` returns`)
  return {
    workflows,
    schedules: values.filter(isSchedule),
    handlers,
    mappings: mappingsOf(exports),
    functions: localFunctionsOf(exports),
  }
}

export async function loadCodec(file: string, onLoad: (file: string) => void): Promise<Codec> {
  if (!existsSync(file))
    throw new FinalError(
      `there is no file ${file}; name the one whose default export is your codec: overwinter dev --codec <file>`,
    )
  return codecOf(await load(file, onLoad))
}

async function load(file: string, onLoad: (file: string) => void): Promise<Record<string, unknown>> {
  const hooks = registerHooks({
    load(url, context, next) {
      if (url.startsWith('file:') && !url.includes('/node_modules/')) onLoad(fileURLToPath(url))
      return next(url, context)
    },
  })
  try {
    return (await import(pathToFileURL(file).href)) as Record<string, unknown>
  } finally {
    hooks.deregister()
  }
}
