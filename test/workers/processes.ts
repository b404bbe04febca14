import { join } from 'node:path'
import { Running, root } from '../cli/fixture.ts'

export const PROGRAMS = join(root, 'test/workers/programs')

/** How each of the reference workers is started. */
export const LANGUAGES = {
  typescript: (program: string, env: Record<string, string>) =>
    new Running(process.execPath, ['--conditions=overwinter-source', join(PROGRAMS, `${program}.ts`)], { env }),
  python: (program: string, env: Record<string, string>) => new Running('python3', [join(PROGRAMS, `${program}.py`)], { env }),
}
