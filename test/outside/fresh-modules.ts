import { vi } from 'vitest'

/** Files share a process and its packages, but not our own modules: some of those remember names, of limits for example. */
vi.resetModules()
