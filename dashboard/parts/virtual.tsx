import type { ComponentChildren, CSSProperties } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

interface VirtualProps {
  count: number
  rowHeight: number
  label: string
  role: 'table' | 'list' | 'tree'
  /** The row that is kept visible. */
  active?: number | undefined
  head?: ComponentChildren
  foot?: ComponentChildren
  className?: string
  /** The scroll position. */
  onScroll?(top: number): void
  row(index: number, place: CSSProperties): ComponentChildren
}

/** Extra rows above and below the visible ones, so that scrolling shows no gaps. */
const MARGIN = 8

/** A list that renders only visible rows: ten thousand rows cost as much as fifty. */
export function Virtual({
  count,
  rowHeight,
  label,
  role,
  active,
  head,
  foot,
  className = '',
  onScroll,
  row,
}: VirtualProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const scrolled = useRef(onScroll)
  scrolled.current = onScroll
  const [view, setView] = useState({ top: 0, height: 800 })

  useLayoutEffect(() => {
    const element = scroller.current!
    const look = () => {
      scrolled.current?.(element.scrollTop)
      setView((before) =>
        before.top === element.scrollTop && before.height === element.clientHeight
          ? before
          : { top: element.scrollTop, height: element.clientHeight },
      )
    }
    const observer = new ResizeObserver(look)
    observer.observe(element)
    element.addEventListener('scroll', look, { passive: true })
    look()
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', look)
    }
  }, [])

  useLayoutEffect(() => {
    const element = scroller.current!
    if (active === undefined || active < 0) return
    const top = active * rowHeight
    const visible = element.clientHeight - rowHeight * 2
    if (top < element.scrollTop) element.scrollTop = top
    else if (top > element.scrollTop + visible) element.scrollTop = top - visible
  }, [active, rowHeight])

  const first = Math.max(0, Math.floor(view.top / rowHeight) - MARGIN)
  const last = Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + MARGIN)
  const rows: ComponentChildren[] = []
  for (let i = first; i < last; i++) rows.push(row(i, { top: `${i * rowHeight}px`, height: `${rowHeight}px` }))
  return (
    <div class={`virtual ${className}`} ref={scroller} tabIndex={0} role="region" aria-label={label}>
      <div role={role} aria-label={label} {...(role === 'table' && { 'aria-rowcount': count + (head ? 1 : 0) })}>
        {head}
        <div
          class="virtual-rows"
          role={role === 'table' ? 'rowgroup' : 'presentation'}
          style={{ height: `${count * rowHeight}px` }}
        >
          {rows}
        </div>
      </div>
      {foot}
    </div>
  )
}
