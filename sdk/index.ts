export type { Incident, IncidentFilter, Incidents } from './bulk/incidents.ts'
export type { Bulk, BulkAction, BulkFilter, BulkProgress, Refused, WouldSteer } from './bulk/steer-many.ts'
export type { OpenCallback } from './callbacks.ts'
export { type AskOptions, Client, type ListOptions, type RepeatOptions, type RunView, type StartOptions } from './client.ts'
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
export type { Duration } from './engine/duration.ts'
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
} from './engine/errors.ts'
export type { ErrorRecord, Frame, JournalEvent } from './engine/events.ts'
export type { Json } from './engine/json.ts'
export type { RetryPolicy } from './engine/retry.ts'
export { type Limit, type LimitOptions, type LimitSpec, limit } from './flow/limit.ts'
export type { GateView, LimitView } from './flow/limits.ts'
export type { Concurrency, FlowOptions, KeyOf, OnConflict } from './flow/options.ts'
export type { PauseScope, PauseView } from './flow/pauses.ts'
export type { HistoryEvent, HistoryOptions } from './history.ts'
export { type InvocationTools, type LocalFunction, localFunction } from './local-function.ts'
export type { RunPage, RunStatus, RunSummary, Waiting } from './ports.ts'
export { type Schedule, type ScheduleOptions, schedule } from './schedule.ts'
export { Schedules, type ScheduleView } from './schedules.ts'
export { StartedRun } from './started-run.ts'
export type { CannotBeStored, Giving, IfStorable } from './storable.ts'
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
