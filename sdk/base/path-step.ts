/** One step of the path to a value, as problems name it: `.street`, `["no name"]`, `[3]`. */
export function pathStep(key: string | number): string {
  if (typeof key === 'number') return `[${key}]`
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`
}
