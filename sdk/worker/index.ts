export { FatalError } from '../base/errors.ts'
export type { TaskHandler, WorkerTask } from './task.ts'
export { Worker, type WorkerOptions } from './worker.ts'
