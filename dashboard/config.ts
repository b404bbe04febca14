/** What the page is told about where it is: `/ui/config.json`. */
export interface UiConfig {
  /** `local`, or the host of the API or the name of the stack. */
  name: string
  isLocal: boolean
  /** Whoever looks may change nothing. */
  isReadOnly: boolean
  /** `GET /changes` tells of commits as they happen; otherwise the page asks now and then. */
  hasChanges: boolean
  /** `GET /runs/{id}/replay` shows where the code stood. */
  hasReplay: boolean
  version: string
}
