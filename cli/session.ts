import type { Command } from 'commander'
import { OverwinterClient, type TransportOptions } from '../sdk/http-client/index.ts'
import { type ConnectionOptions, connectionOf } from './connection.ts'
import { say } from './terminal.ts'

/** What a command works with: the API, and its output. */
export class Session {
  readonly connection: TransportOptions
  readonly client: OverwinterClient
  readonly isJson: boolean
  /** The AWS profile that was given. */
  readonly profile: string | undefined

  constructor(options: ConnectionOptions & { json?: boolean }) {
    this.connection = connectionOf(options)
    this.client = new OverwinterClient(this.connection)
    this.isJson = options.json ?? false
    this.profile = options.profile
  }

  static of(command: Command): Session {
    return new Session(command.optsWithGlobals())
  }

  /** Prints text for a person, or JSON for a program. */
  print(text: string, data: unknown): void {
    say(this.isJson ? JSON.stringify(data) : text)
  }
}
