/** Our own icons, on a grid of 16, with strokes of one weight. */
const PATHS = {
  pending: 'M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11',
  queued: 'M3 4h10M3 8h7M3 12h4',
  running: 'M5 3.2v9.6L12.6 8z',
  sleeping: 'M12.8 9.8A5.4 5.4 0 0 1 6.2 3.2a5.4 5.4 0 1 0 6.6 6.6z',
  waiting: 'M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11M8 5v3.2l2 1.6',
  stuck: 'M8 2.6 14 13H2zM8 6.6v3M8 11.2v.1',
  completed: 'm3 8.6 3.2 3.2L13 4.6',
  failed: 'm4 4 8 8M12 4l-8 8',
  cancelled: 'M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11M4.2 4.2l7.6 7.6',
  terminated: 'M4 4h8v8H4z',
  step: 'M3 4.5h10v7H3z',
  sleep: 'M12.8 9.8A5.4 5.4 0 0 1 6.2 3.2a5.4 5.4 0 1 0 6.6 6.6z',
  wait: 'M8 2.5v3M4 4l2 2M12 4l-2 2M3 9h10v4H3z',
  callback: 'M6 4 2.5 7.5 6 11M2.5 7.5H10a3.5 3.5 0 0 1 3.5 3.5v1',
  child: 'M4 2.5v6a3 3 0 0 0 3 3h5M9.5 8.5l3 3-3 3',
  task: 'M8 2v2M8 12v2M2 8h2M12 8h2M8 5.5a2.5 2.5 0 1 0 0 5a2.5 2.5 0 1 0 0-5',
  close: 'm4 4 8 8M12 4l-8 8',
  copy: 'M5.5 5.5h7v7h-7zM3.5 10.5v-7h7',
  open: 'm6 3.5 4.5 4.5L6 12.5',
  theme: 'M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11',
  brand: 'M8 1.8v12.4M2.6 4.9l10.8 6.2M13.4 4.9 2.6 11.1',
} as const

export type IconName = keyof typeof PATHS

/** Always beside words, so it is hidden from screen readers. */
export function Icon({ name, className = '' }: { name: IconName; className?: string }) {
  return (
    <svg class={`icon ${className}`} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  )
}
