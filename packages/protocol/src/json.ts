import { z } from 'zod';

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export const json: z.ZodType<Json> = z.json() as z.ZodType<Json>;
export const jsonObject: z.ZodType<JsonObject> = z.record(z.string(), json);
