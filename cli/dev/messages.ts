/** What the server of `overwinter dev` tells the process that watches over it. */
export type ServerMessage =
  /** The workflow module, or something it imports: worth watching. */
  | { kind: 'loaded'; file: string }
  /** `newToken`: a token for workers that was made just now, and is nowhere to be had later. */
  | {
      kind: 'ready'
      url: string
      database: string
      workflows: { name: string; example?: unknown }[]
      newToken?: string
    }
  /** `isFinal`: no change of the code can mend it. */
  | { kind: 'failed'; message: string; isFinal: boolean }

/** What it is told when it starts. */
export interface ServerOptions {
  entry: string
  /** The file of the codec, if payloads are to be encoded. */
  codec?: string
  port: number
  /** The folder of the database. */
  data: string
}
