import { effect, signal } from '@preact/signals'
import type { UiConfig } from './config.ts'

/** Where the page is; asked for before anything is shown. */
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

/** What stays in this browser. A browser that keeps nothing is no reason to fail. */
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
    // It is gone with the page, then.
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
