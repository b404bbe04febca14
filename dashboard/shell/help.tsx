import { KEYS } from '../keys.ts'
import { Dialog } from '../parts/dialog.tsx'
import { config } from '../settings.ts'

export function Help({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="keys">
        {KEYS.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              {keys.split(/ +/).map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <p class="muted">Overwinter {config.value.version}</p>
    </Dialog>
  )
}
