import { NO_AWS } from './environment.ts'

/** For what is tested in this very process: the same answer, whoever's terminal it was started in. */
for (const name of Object.keys(process.env))
  if (/^(AWS|OVERWINTER|OTEL)_|^(PORT|FORCE_COLOR)$/.test(name)) delete process.env[name]
Object.assign(process.env, NO_AWS, { NO_COLOR: '1' })

/** Test files share processes: what one of them has left in the environment must not reach the next. */
const shared = globalThis as { environmentOfTests?: NodeJS.ProcessEnv }
shared.environmentOfTests ??= { ...process.env }
for (const name of Object.keys(process.env))
  if (!(name in shared.environmentOfTests) && !name.startsWith('VITEST')) delete process.env[name]
for (const [name, value] of Object.entries(shared.environmentOfTests))
  if (!name.startsWith('VITEST')) process.env[name] = value
