import { useReducer, useRef } from 'preact/hooks'
import type { RunInList } from '../api.ts'
import { steady } from './steady.ts'

/** Rows that keep their places while the list is held; `letGo` shows all that has arrived meanwhile. */
export function useSteady(
  key: string,
  fresh: readonly RunInList[],
  isHeld: boolean,
): { runs: RunInList[]; arrived: number; letGo: () => void } {
  const kept = useRef<{ key: string; rows: RunInList[] } | undefined>(undefined)
  const [, again] = useReducer((count: number) => count + 1, 0)
  const isKept = isHeld && kept.current?.key === key
  const { rows, arrived } = isKept ? steady(kept.current!.rows, fresh) : { rows: [...fresh], arrived: 0 }
  kept.current = { key, rows }
  const letGo = () => {
    kept.current = undefined
    again(undefined)
  }
  return { runs: rows, arrived, letGo }
}
