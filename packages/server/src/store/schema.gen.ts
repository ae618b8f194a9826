export interface DB { [table: string]: never }
