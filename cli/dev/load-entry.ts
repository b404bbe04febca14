import { existsSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { handlersOf, isSchedule, isWorkflow, localFunctionsOf } from '../../functions/registry-of.ts'
import type { NamedHandler } from '../../sdk/definitions/define.ts'
import type { AnyWorkflow, LocalFunction, Schedule } from '../../sdk/index.ts'

/** No change of the code can mend it: a wrong path, a port that is taken. */
export class FinalError extends Error {}

export interface Entry {
  workflows: AnyWorkflow[]
  schedules: Schedule[]
  handlers: NamedHandler[]
  functions: LocalFunction[]
}

/** What a file exports, in its order. `onLoad` hears of every file that takes part, packages excluded. */
export async function loadEntry(file: string, onLoad: (file: string) => void): Promise<Entry> {
  if (!existsSync(file)) {
    throw new FinalError(`there is no file ${file}; name the one that exports your workflows: overwinter dev <file>`)
  }
  const hooks = registerHooks({
    load(url, context, next) {
      if (url.startsWith('file:') && !url.includes('/node_modules/')) onLoad(fileURLToPath(url))
      return next(url, context)
    },
  })
  try {
    const exports = (await import(pathToFileURL(file).href)) as Record<string, unknown>
    const values = [...new Set(Object.values(exports))]
    const workflows = values.filter(isWorkflow)
    const handlers = handlersOf(exports)
    if (workflows.length + handlers.length === 0) throw new Error(`${file} exports no workflow; export what \`workflow(…)\` returns`)
    return { workflows, schedules: values.filter(isSchedule), handlers, functions: localFunctionsOf(exports) }
  } finally {
    hooks.deregister()
  }
}
