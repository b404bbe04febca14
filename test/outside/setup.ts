import { NO_AWS } from './environment.ts'

/** For what is tested in this very process: the same answer, whoever's terminal it was started in. */
for (const name of Object.keys(process.env)) if (/^(AWS|OVERWINTER)_|^(PORT|FORCE_COLOR)$/.test(name)) delete process.env[name]
Object.assign(process.env, NO_AWS, { NO_COLOR: '1' })
