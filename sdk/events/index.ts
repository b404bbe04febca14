export {
  type CancelOn,
  cancelOn,
  type EventMapping,
  type FromEvent,
  type SignalOn,
  type StartOn,
  signalOn,
  startOn,
} from './mapping.ts'
export type { BucketEvent, BusEvent, QueueEvent, StreamEvent, TopicEvent } from './shapes.ts'
export { type Taken, takeEvent } from './take.ts'
