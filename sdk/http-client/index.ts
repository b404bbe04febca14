export type { Incident, IncidentFilter, Incidents } from '../bulk/incidents.ts'
export type { Bulk, BulkAction, BulkFilter, BulkProgress, Refused, WouldSteer } from '../bulk/steer-many.ts'
export type { OpenCallback } from '../callbacks.ts'
export type { ListOptions, RepeatOptions, RunView, StartOptions } from '../client.ts'
export type { DefinitionSummary, SavedDefinition } from '../definitions/catalogue.ts'
export type { StoredVersion } from '../definitions/definition-store.ts'
export type { StepStatus, StepView } from '../definitions/step-states.ts'
export {
  CancelledError,
  ChildRunError,
  ConflictError,
  InvalidInputError,
  LimitNotFoundError,
  RunFailedError,
  RunNotFoundError,
  StepError,
  TimeoutError,
  UnknownSignalError,
  UnknownWorkflowError,
} from '../engine/errors.ts'
export type { LimitOptions, LimitSpec } from '../flow/limit.ts'
export type { GateView, LimitView } from '../flow/limits.ts'
export type { PauseScope, PauseView } from '../flow/pauses.ts'
export type { HistoryEvent, HistoryOptions } from '../history.ts'
export type { RunPage, RunStatus, RunSummary } from '../ports.ts'
export { StartedRun } from '../started-run.ts'
export { OverwinterClient } from './client.ts'
export { HttpError } from './errors.ts'
export type { RemoteLimits } from './limits.ts'
export type { TransportOptions } from './transport.ts'
