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
} from '../base/errors.ts'
export type { Incident, IncidentFilter, Incidents } from '../bulk/incidents.ts'
export type { Bulk, BulkAction, BulkFilter, BulkProgress, Refused, WouldSteer } from '../bulk/steer-many.ts'
export type { OpenCallback } from '../client/callbacks.ts'
export type { HistoryEvent, HistoryOptions } from '../client/history.ts'
export type { ListOptions, RepeatOptions, RunView, StartOptions } from '../client/options.ts'
export { StartedRun } from '../client/started-run.ts'
export type { WorkflowClient } from '../client/workflow-client.ts'
export type { DefinitionSummary, SavedDefinition } from '../definitions/catalogue.ts'
export type { StoredVersion } from '../definitions/definition-store.ts'
export type { StepStatus, StepView } from '../definitions/step-states.ts'
export type { LimitOptions, LimitSpec } from '../flow/limiter/limit.ts'
export type { GateView, LimitView } from '../flow/operating/limits.ts'
export type { PauseScope, PauseView } from '../flow/pauses.ts'
export type { RunStatus } from '../ports/run.ts'
export type { RunPage, RunSummary } from '../ports/run-lists.ts'
export { OverwinterClient } from './client.ts'
export { HttpError } from './errors.ts'
export type { RemoteLimits } from './limits.ts'
export type { TransportOptions } from './transport.ts'
