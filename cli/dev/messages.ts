/** Messages from the server of `overwinter dev` to its supervisor. */
export type ServerMessage =
  /** The entry file, or a file that it imports: the supervisor watches it. */
  | { kind: 'loaded'; file: string }
  /** `newToken`: a token for workers that was created just now, and is shown only once. */
  | {
      kind: 'ready'
      url: string
      database: string
      workflows: { name: string; example?: unknown }[]
      newToken?: string
    }
  /** `isFinal`: no change of the code can fix it. */
  | { kind: 'failed'; message: string; isFinal: boolean }

/** The options that the server starts with. */
export interface ServerOptions {
  entry: string
  /** The file of the codec, if payloads are to be encoded. */
  codec?: string
  port: number
  /** The folder of the database. */
  data: string
}
