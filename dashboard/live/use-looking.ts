import { useEffect } from 'preact/hooks'
import { config } from '../settings.ts'

const LOOK_EVERY_MS = 5_000

/** What moves no run is told of by nobody. A page that asks now and then finds it anyway. */
export function useLooking(reload: () => Promise<boolean>): void {
  useEffect(() => {
    const timer = setInterval(() => config.value.hasChanges && !document.hidden && void reload(), LOOK_EVERY_MS)
    return () => clearInterval(timer)
  }, [])
}
