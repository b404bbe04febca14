import { partition } from '@aws-sdk/core/client'

/** What the names of AWS's hosts end with in the partition of a region: `amazonaws.com`, `amazonaws.com.cn`, `amazonaws.eu`. */
export const dnsSuffix = (region: string): string => partition(region).dnsSuffix
