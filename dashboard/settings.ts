import { effect, signal } from '@preact/signals'
import type { UiConfig } from './config.ts'

/** The page's configuration; loaded before anything is rendered. */
export const config = signal<UiConfig>({
  name: 'local',
  isLocal: true,
  isReadOnly: false,
  hasChanges: false,
  hasReplay: false,
  version: '',
})

export async function loadConfig(): Promise<void> {
  const response = await fetch('/ui/config.json')
  if (response.ok) config.value = (await response.json()) as UiConfig
  document
    .querySelector('link[rel=icon]')
    ?.setAttribute('href', `/ui/favicon-${config.value.isLocal ? 'local' : 'deployed'}.svg`)
}

/** Settings stored in this browser. A browser without storage is no error. */
export function kept<T>(name: string, otherwise: T): T {
  try {
    return (JSON.parse(localStorage.getItem(`overwinter.${name}`) ?? 'null') as T | null) ?? otherwise
  } catch {
    return otherwise
  }
}

export function keep(name: string, value: unknown): void {
  try {
    localStorage.setItem(`overwinter.${name}`, JSON.stringify(value))
  } catch {
    // The setting lasts as long as the page, then.
  }
}

export type Theme = 'light' | 'dark' | 'system'
export const theme = signal<Theme>(kept<Theme>('theme', 'system'))

effect(() => {
  const { value } = theme
  if (value === 'system') document.documentElement.removeAttribute('data-theme')
  else document.documentElement.setAttribute('data-theme', value)
  keep('theme', value)
})
