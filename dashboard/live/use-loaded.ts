import { useEffect, useRef, useState } from 'preact/hooks'
import type { Refusal } from '../refusal.ts'
import { Unreachable } from '../refusal.ts'
import { type Changed, follow } from './changes.ts'

export interface Loaded<T> {
  value?: T
  refusal?: Refusal
  /** The shown data belongs to the previous key. */
  isStale: boolean
  reload(): Promise<boolean>
}

interface State<T> {
  key: string
  value?: T
  refusal?: Refusal
}

/** The shortest time between two loads, however many changes are reported. */
export const GAP_MS = 60

/**
 * Loads what `key` names, again when the key changes, and again when `isConcerned` says that a change may
 * affect it. The old data stays until the new data arrives.
 */
export function useLoaded<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  isConcerned?: (changed: Changed) => boolean,
  gapMs = GAP_MS,
): Loaded<T> {
  const [state, setState] = useState<State<T>>({ key })
  const current = useRef({ key, load, isConcerned, gapMs, shown: '' })
  Object.assign(current.current, { key, load, isConcerned, gapMs })
  const reload = useRef<() => Promise<boolean>>(async () => false)

  useEffect(() => {
    const abort = new AbortController()
    const { signal } = abort
    let underWay: Promise<boolean> | undefined
    let isAskedAgain = false
    const once = async (): Promise<boolean> => {
      try {
        const value = await current.current.load(signal)
        const text = JSON.stringify(value)
        if (signal.aborted || current.current.shown === key + text) return false
        current.current.shown = key + text
        setState({ key, value })
        return true
      } catch (error) {
        // The first successful request of any view makes the others load again.
        if (signal.aborted || error instanceof Unreachable) return false
        current.current.shown = ''
        setState((before) => ({
          key,
          ...(before.key === key && before.value !== undefined && { value: before.value }),
          refusal: error as Refusal,
        }))
        return true
      }
    }
    const again = (): Promise<boolean> => {
      if (underWay) {
        isAskedAgain = true
        return underWay
      }
      underWay = (async () => {
        let isNews = false
        do {
          isAskedAgain = false
          isNews = (await once()) || isNews
          await new Promise((resolve) => setTimeout(resolve, current.current.gapMs))
        } while (isAskedAgain && !signal.aborted)
        underWay = undefined
        return isNews
      })()
      return underWay
    }
    reload.current = again
    void again()
    const unfollow =
      current.current.isConcerned && follow((changed) => (current.current.isConcerned?.(changed) ? again() : undefined))
    // Views that follow nothing also reload when the server is back.
    return () => {
      abort.abort()
      unfollow?.()
    }
  }, [key])

  const { value, refusal } = state
  return {
    ...(value !== undefined && { value }),
    ...(refusal && state.key === key && { refusal }),
    isStale: state.key !== key,
    reload: () => reload.current(),
  }
}

export const always = (): boolean => true
export const concerns =
  (id: string) =>
  (changed: Changed): boolean =>
    changed === 'all' || changed.has(id)
