type IsoTimes<Row> = {
  [Field in keyof Row]: Row[Field] extends Date
    ? string
    : Row[Field] extends Date | null
      ? string | Extract<Row[Field], null>
      : Row[Field];
};

/** A row with its times as ISO 8601. */
export function isoTimes<Row extends object>(row: Row): IsoTimes<Row> {
  const fields = Object.entries(row).map(([name, value]) => [
    name,
    value instanceof Date ? value.toISOString() : value,
  ]);
  return Object.fromEntries(fields) as IsoTimes<Row>;
}
