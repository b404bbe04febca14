import { useEffect, useRef, useState } from 'preact/hooks'
import { getHistory, type PlacedEvent } from '../api.ts'
import { follow } from '../live/changes.ts'
import { concerns } from '../live/use-loaded.ts'
import { Refusal } from '../refusal.ts'

const MANY = 1_000

export interface HistoryState {
  events: readonly PlacedEvent[]
  /** Everything that exists so far has been loaded. */
  isLoaded: boolean
  refusal?: Refusal
}

/** The history of a run without its payloads: loaded once, then only new events. */
export function useHistory(id: string): HistoryState {
  const [state, setState] = useState<HistoryState>({ events: [], isLoaded: false })
  const known = useRef<{ events: PlacedEvent[]; generation?: number }>({ events: [] })

  useEffect(() => {
    const abort = new AbortController()
    let underWay: Promise<boolean> | undefined
    let isAskedAgain = false
    known.current = { events: [] }

    const readOn = async (): Promise<boolean> => {
      const { events, generation } = known.current
      const after = events.at(-1)?.n
      let cursor: string | undefined
      const fresh: PlacedEvent[] = []
      do {
        const page = await getHistory(
          id,
          { ...(after !== undefined && { after }), ...(cursor !== undefined && { cursor }) },
          abort.signal,
        )
        if (generation !== undefined && page.generation !== generation) {
          // It has continued as new: the loaded history has ended.
          known.current = { events: [] }
          return readOn()
        }
        known.current.generation = page.generation
        fresh.push(...page.events)
        cursor = page.cursor
      } while (cursor !== undefined)
      if (fresh.length > 0) known.current.events = [...events, ...fresh]
      // Loading a long history takes a task of its own; rendering it takes another one.
      if (fresh.length > MANY) await new Promise((resolve) => setTimeout(resolve))
      if (abort.signal.aborted) return false
      setState({ events: known.current.events, isLoaded: true })
      return fresh.length > 0
    }
    const look = (): Promise<boolean> => {
      isAskedAgain = underWay !== undefined
      underWay ??= readOn()
        .catch((error: unknown) => {
          if (!abort.signal.aborted && error instanceof Refusal)
            setState((before) => ({ ...before, isLoaded: true, refusal: error }))
          return false
        })
        .finally(() => {
          underWay = undefined
          if (isAskedAgain && !abort.signal.aborted) void look()
        })
      return underWay
    }
    void look()
    const isConcerned = concerns(id)
    const unfollow = follow((changed) => (isConcerned(changed) ? look() : undefined))
    return () => {
      abort.abort()
      unfollow()
    }
  }, [id])
  return state
}
