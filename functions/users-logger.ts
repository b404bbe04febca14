import type { LogLevel, LogSink } from '../sdk/ports/world.ts'

/** Powertools' Logger, as far as it is used here. */
type Logger = Record<LogLevel, (message: string, fields: Record<string, unknown>) => void>

const METHODS = ['debug', 'info', 'warn', 'error', 'appendKeys']

/**
 * Uses the Powertools Logger that the entry exports, if it does, with its level, service and keys. Checked by
 * shape: it may come from a layer.
 */
export function loggerOf(exports: Record<string, unknown>): LogSink | undefined {
  const logger = Object.values(exports).find(isLogger)
  return logger && ((level, message, fields) => logger[level](message, fields))
}

function isLogger(value: unknown): value is Logger {
  return (
    typeof value === 'object' &&
    value !== null &&
    METHODS.every((method) => typeof (value as Record<string, unknown>)[method] === 'function')
  )
}
