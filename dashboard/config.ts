/** The page's configuration: `/ui/config.json`. */
export interface UiConfig {
  /** `local`, or the host of the API or the name of the stack. */
  name: string
  isLocal: boolean
  /** The viewer may change nothing. */
  isReadOnly: boolean
  /** `GET /changes` streams commits as they happen; otherwise the page polls. */
  hasChanges: boolean
  /** `GET /runs/{id}/replay` shows where the code was. */
  hasReplay: boolean
  version: string
}
