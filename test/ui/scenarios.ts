import { limiting } from './scenarios/limiting.ts'
import { looking } from './scenarios/looking.ts'
import { starting } from './scenarios/starting.ts'
import { steering } from './scenarios/steering.ts'
import type { Scenarios } from './stage.ts'

/** What people do on the dashboard. Each is played from the first click to what the API says of it, wherever the stage is. */
export const scenarios: Scenarios = { ...starting, ...steering, ...looking, ...limiting }
