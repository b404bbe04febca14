import { useEffect } from 'preact/hooks'
import { config } from '../settings.ts'

const LOOK_EVERY_MS = 5_000

/** Some changes affect no run, so the stream does not report them. This view polls for them. */
export function useLooking(reload: () => Promise<boolean>): void {
  useEffect(() => {
    const timer = setInterval(() => config.value.hasChanges && !document.hidden && void reload(), LOOK_EVERY_MS)
    return () => clearInterval(timer)
  }, [])
}
