import { render } from 'preact'
import { App } from './app.tsx'
import { listenForKeys } from './keys.ts'
import { takeOverLinks } from './route.ts'
import { loadConfig } from './settings.ts'
import './style/app.css'

takeOverLinks()
listenForKeys()
// Without an answer the page shows that the server is unreachable, as it does later.
await loadConfig().catch(() => {})
render(<App />, document.getElementById('app')!)
