export type { Duration } from './base/duration.ts'
export {
  CancelledError,
  ChildRunError,
  ConflictError,
  FatalError,
  ForeignAwaitError,
  GoneError,
  InvalidInputError,
  LimitNotFoundError,
  MisfitError,
  MisplacedCallError,
  NonDeterminismError,
  type Problem,
  RequestRefusedError,
  RetryableError,
  RunFailedError,
  RunNotFoundError,
  StepError,
  StepInterruptedError,
  TimeoutError,
  UnknownSignalError,
  UnknownWorkflowError,
} from './base/errors.ts'
export type { ErrorRecord, Frame, JournalEvent } from './base/events.ts'
export type { Json } from './base/json.ts'
export type { CannotBeStored, Giving, IfStorable } from './base/storable.ts'
export type { Incident, IncidentFilter, Incidents } from './bulk/incidents.ts'
export type { Bulk, BulkAction, BulkFilter, BulkProgress, Refused, WouldSteer } from './bulk/steer-many.ts'
export type { OpenCallback } from './client/callbacks.ts'
export {
  type AskOptions,
  Client,
  type ListOptions,
  type RepeatOptions,
  type RunView,
  type StartOptions,
} from './client/client.ts'
export type { HistoryEvent, HistoryOptions } from './client/history.ts'
export { Schedules, type ScheduleView } from './client/schedules.ts'
export { StartedRun } from './client/started-run.ts'
export type { WorkflowClient } from './client/workflow-client.ts'
export type { Codec, PayloadOf } from './codec/codec.ts'
export type {
  Asked,
  Branches,
  Callback,
  CallbackOptions,
  CheckTools,
  ChildOptions,
  Context,
  InvokeOptions,
  ItemResult,
  Logger,
  MapBody,
  MapOptions,
  MapOutcome,
  RaceOptions,
  RawCallbackOptions,
  RawRequest,
  Received,
  RunInfo,
  StepOptions,
  StepTools,
  TaskOptions,
  Tolerance,
  Truthy,
  UntilOptions,
  WaitOptions,
  Winner,
} from './context.ts'
export type { RetryPolicy } from './engine/retry.ts'
export { type Limit, type LimitOptions, type LimitSpec, limit } from './flow/limiter/limit.ts'
export type { GateView, LimitView } from './flow/operating/limits.ts'
export type { Concurrency, FlowOptions, KeyOf, OnConflict } from './flow/options.ts'
export type { PauseScope, PauseView } from './flow/pauses.ts'
export type { RunStatus, Waiting } from './ports/run.ts'
export type { RunPage, RunSummary } from './ports/run-lists.ts'
export { type InvocationTools, type LocalFunction, localFunction } from './runner/local-function.ts'
export { type Schedule, type ScheduleOptions, schedule } from './schedule.ts'
export type { Remedy, WaitReason, Why } from './views/why.ts'
export {
  type AnyRequest,
  type AnySignal,
  type AnyWorkflow,
  Registry,
  type RunRequest,
  request,
  type Signal,
  signal,
  type Workflow,
  type WorkflowOptions,
  type WorkflowSource,
  workflow,
} from './workflow.ts'
