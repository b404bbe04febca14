/** Who the examples hand their callbacks to. Tests look here for the tokens. */
export const handedOut: string[] = []

export function handOut(token: string): void {
  handedOut.push(token)
}
